// The script of every page. Everything it does is a comfort: links and forms work
// without it. It never builds markup out of text that came from a task.
import htmx from "htmx.org/dist/htmx.esm.min.js";
import { startLive } from "./live.js";
import { startLog } from "./log.js";
import { startDays } from "./days.js";
import { startDialogs } from "./dialogs.js";
import { startForms } from "./forms.js";
import { startGraph } from "./graph.js";
import { startKeys } from "./keys.js";
import { startPicks } from "./picks.js";
import { startSchedule } from "./schedule.js";
import { startTypes } from "./types.js";
import { startUpload } from "./upload.js";

document.documentElement.classList.add("js");

startDialogs();
startForms();
startKeys();
startPicks();
startSchedule();
startTypes();
startUpload();
startDays();
startGraph();
startLive(htmx);

const log = document.getElementById("log");
if (log) startLog(log);

const yaml = document.getElementById("yaml");
if (yaml) {
  const script = document.createElement("script");
  script.src = yaml.dataset.script;
  document.head.append(script);
}
