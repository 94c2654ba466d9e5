// One case, named by the first argument, with the options of the second: where the
// listener is, and who logs in.

import * as connections from './connections.mjs';
import * as getting from './getting.mjs';
import * as putting from './putting.mjs';

const [name, said] = process.argv.slice(2);
const cases = { ...connections, ...getting, ...putting };
await cases[name](JSON.parse(said));
process.exit(0);
