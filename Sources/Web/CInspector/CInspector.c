/* The inspector's page, taken into the program by the compiler: it needs no path at run time and can't be of another version.
 * The client library that it is built on is that of Sources/Clients/JavaScript.
 *
 * A new file takes a line here and one in the list of names below, in the same order; a test compares them with the folder.
 * Paths are relative to this file. The compiler names what it takes in among the files that this one depends on, so a file
 * that changes is compiled in again. */
#include "CInspector.h"

#include <string.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

/* One after the other. All are text, so a zero ends each. */
static const char contents[] = {
#embed "../Inspector/address.js" suffix(, 0,)
#embed "../Inspector/axis.js" suffix(, 0,)
#embed "../Inspector/chart.js" suffix(, 0,)
#embed "../Inspector/clients.js" suffix(, 0,)
#embed "../Inspector/commits.js" suffix(, 0,)
#embed "../Inspector/compare.js" suffix(, 0,)
#embed "../Inspector/copies.js" suffix(, 0,)
#embed "../Inspector/definitions.js" suffix(, 0,)
#embed "../Inspector/details.js" suffix(, 0,)
#embed "../Inspector/differences.js" suffix(, 0,)
#embed "../Inspector/dispatch.js" suffix(, 0,)
#embed "../Inspector/dom.js" suffix(, 0,)
#embed "../Inspector/explorer.js" suffix(, 0,)
#embed "../Inspector/feed.js" suffix(, 0,)
#embed "../Inspector/filters.js" suffix(, 0,)
#embed "../Inspector/flow.js" suffix(, 0,)
#embed "../Inspector/flows.js" suffix(, 0,)
#embed "../Inspector/follow.js" suffix(, 0,)
#embed "../../Clients/JavaScript/fluxbus.js" suffix(, 0,)
#embed "../Inspector/form.js" suffix(, 0,)
#embed "../Inspector/groups.js" suffix(, 0,)
#embed "../Inspector/health.js" suffix(, 0,)
#embed "../Inspector/histogram.js" suffix(, 0,)
#embed "../Inspector/icon.svg" suffix(, 0,)
#embed "../Inspector/index.html" suffix(, 0,)
#embed "../Inspector/json.js" suffix(, 0,)
#embed "../Inspector/log.js" suffix(, 0,)
#embed "../Inspector/main.js" suffix(, 0,)
#embed "../Inspector/palette.js" suffix(, 0,)
#embed "../Inspector/pins.js" suffix(, 0,)
#embed "../Inspector/player.js" suffix(, 0,)
#embed "../Inspector/plot.js" suffix(, 0,)
#embed "../Inspector/samples.js" suffix(, 0,)
#embed "../Inspector/sending.js" suffix(, 0,)
#embed "../Inspector/series.js" suffix(, 0,)
#embed "../Inspector/session.js" suffix(, 0,)
#embed "../Inspector/sources.js" suffix(, 0,)
#embed "../Inspector/store.js" suffix(, 0,)
#embed "../Inspector/style.css" suffix(, 0,)
#embed "../Inspector/suggest.js" suffix(, 0,)
#embed "../Inspector/table.js" suffix(, 0,)
#embed "../Inspector/time.js" suffix(, 0,)
#embed "../Inspector/tree.js" suffix(, 0,)
#embed "../Inspector/trends.js" suffix(, 0,)
#embed "../Inspector/undo.js" suffix(, 0,)
#embed "../Inspector/verdict.js" suffix(, 0,)
#embed "../Inspector/virtual.js" suffix(, 0,)
#embed "../Inspector/where.js" suffix(, 0,)
};

static const char *const names[] = {
    "address.js",
    "axis.js",
    "chart.js",
    "clients.js",
    "commits.js",
    "compare.js",
    "copies.js",
    "definitions.js",
    "details.js",
    "differences.js",
    "dispatch.js",
    "dom.js",
    "explorer.js",
    "feed.js",
    "filters.js",
    "flow.js",
    "flows.js",
    "follow.js",
    "fluxbus.js",
    "form.js",
    "groups.js",
    "health.js",
    "histogram.js",
    "icon.svg",
    "index.html",
    "json.js",
    "log.js",
    "main.js",
    "palette.js",
    "pins.js",
    "player.js",
    "plot.js",
    "samples.js",
    "sending.js",
    "series.js",
    "session.js",
    "sources.js",
    "store.js",
    "style.css",
    "suggest.js",
    "table.js",
    "time.js",
    "tree.js",
    "trends.js",
    "undo.js",
    "verdict.js",
    "virtual.js",
    "where.js",
};

size_t inspector_file_count(void) { return sizeof names / sizeof names[0]; }

inspector_file inspector_file_at(size_t index) {
    const char *start = contents;
    for (size_t before = 0; before < index; before++) start += strlen(start) + 1;
    return (inspector_file){names[index], start, strlen(start)};
}
