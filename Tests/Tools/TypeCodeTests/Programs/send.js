// Sends the requests of `use.ts` to a bus, and prints each with its reply.
const use = require("./js/use.js");
const requests = use.requests.concat(use.more);
const socket = require("net").connect(process.argv[2]);
let text = "";
let index = 0;
socket.on("connect", () => requests.forEach((request) => socket.write(JSON.stringify(request) + "\n")));
socket.on("data", (data) => {
  text += data;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
    console.log(JSON.stringify(requests[index++]));
    console.log(text.slice(0, end));
    text = text.slice(end + 1);
  }
  if (index === requests.length) socket.end();
});
