/* The functions of libcurl that are called here, each of which passes the call on to the library.
 *
 * Why: few daemons ever make a request, and the library brings forty others along (Kerberos, LDAP, GnuTLS), which take 4 MB
 * and half of the time that a start takes. So the first call loads it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

/* No library that is loaded later takes these for the real ones. */
#pragma GCC visibility push(hidden)
#include "CCurl.h"
#pragma GCC visibility pop

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;
static const char *absence;

static void load(void) {
    library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) absence = dlerror();
}

const char *curl_absence(void) {
    pthread_once(&once, load);
    return absence;
}

/* Null without the library, whose absence whoever begins to use it has to look for. */
static void *found(const char *name) { return curl_absence() ? NULL : dlsym(library, name); }

#define PASS_ON(result, name, parameters, arguments)                                                                     \
    result name parameters {                                                                                            \
        static result(*real) parameters;                                                                                \
        if (!real) real = (result(*) parameters)found(#name);                                                           \
        return real arguments;                                                                                          \
    }

PASS_ON(CURLcode, curl_global_init, (long flags), (flags))
PASS_ON(CURL *, curl_easy_init, (void), ())
PASS_ON(void, curl_easy_cleanup, (CURL * easy), (easy))
PASS_ON(void, curl_easy_reset, (CURL * easy), (easy))
PASS_ON(CURLcode, curl_easy_pause, (CURL * easy, int mask), (easy, mask))
PASS_ON(const char *, curl_easy_strerror, (CURLcode code), (code))
PASS_ON(CURLM *, curl_multi_init, (void), ())
PASS_ON(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))
PASS_ON(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy), (multi, easy))
PASS_ON(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy), (multi, easy))
PASS_ON(CURLMcode, curl_multi_perform, (CURLM * multi, int *running), (multi, running))
PASS_ON(CURLMcode, curl_multi_wakeup, (CURLM * multi), (multi))
PASS_ON(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left))
PASS_ON(CURLMcode, curl_multi_poll,
        (CURLM * multi, struct curl_waitfd extra[], unsigned int count, int milliseconds, int *ready),
        (multi, extra, count, milliseconds, ready))
PASS_ON(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text))
PASS_ON(void, curl_slist_free_all, (struct curl_slist * list), (list))

/* Every option is one number or address, as wide as a pointer; so is where an answer goes. */
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    static CURLcode (*real)(CURL *, CURLoption, ...);
    if (!real) real = (CURLcode(*)(CURL *, CURLoption, ...))found("curl_easy_setopt");
    va_list rest;
    va_start(rest, option);
    void *value = va_arg(rest, void *);
    va_end(rest);
    return real(easy, option, value);
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...) {
    static CURLcode (*real)(CURL *, CURLINFO, ...);
    if (!real) real = (CURLcode(*)(CURL *, CURLINFO, ...))found("curl_easy_getinfo");
    va_list rest;
    va_start(rest, info);
    void *place = va_arg(rest, void *);
    va_end(rest);
    return real(easy, info, place);
}
