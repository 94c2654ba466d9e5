/* Times as the server writes them: in the zone that the page names (data-zone). */

const zone = document.documentElement.dataset.zone || "UTC";
const clock = new Intl.DateTimeFormat("en-GB", {
  timeZone: zone,
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

export function timeOf(moment) {
  return clock.format(moment);
}
