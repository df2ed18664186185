/* The inspector's page, taken into the program by the compiler: it needs no path at run time and can't be of another version.
 * Paths are relative to this file. A file that changes is compiled in anew, since the compiler names it among those that
 * this one depends on. For a new file, three lines here and one in the table; a test compares them with the folder. */
#include "CInspector.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define JAVASCRIPT "text/javascript; charset=utf-8"
#define FILE(name, bytes, type) {name, bytes, sizeof(bytes), type}

static const unsigned char index_html[] = {
#embed "../Inspector/index.html"
};

static const inspector_file files[] = {
    FILE("index.html", index_html, HTML),
};

const inspector_file *inspector_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
