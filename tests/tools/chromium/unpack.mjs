// Unpacks Chromium, with the libraries and fonts that it needs, into the folder that
// TMPDIR names: the package knows no other way to say where.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { inflate } from "@sparticuz/chromium";

const build = dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium")));
for (const packed of ["chromium.br", "al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br"]) {
  await inflate(join(build, "..", "bin", packed));
}
