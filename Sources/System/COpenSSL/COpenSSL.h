/* OpenSSL as Swift sees it, and what of it Swift can't import: macros, and its typed stacks. Everything is a constant or a
 * thin call; no logic lives here. */
#ifndef FLUXBUS_COPENSSL_H
#define FLUXBUS_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* The oldest and the newest version of TLS that a context speaks. */
static inline int tls_set_versions(SSL_CTX *context, int oldest, int newest) {
    return SSL_CTX_set_min_proto_version(context, oldest) && SSL_CTX_set_max_proto_version(context, newest);
}

static inline void tls_release_buffers(SSL_CTX *context) { SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS); }
static inline void tls_forget_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline int tls_add_to_chain(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int tls_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }

/* Options that a context of either side has. */
static const uint64_t tls_options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE;

/* What a memory BIO holds: its length, and where it begins. */
static inline size_t tls_held(BIO *bio, const void **bytes) {
    char *start = (char *)0;
    long count = BIO_get_mem_data(bio, &start);
    *bytes = start;
    return count > 0 ? (size_t)count : 0;
}

/* How a certificate's subject is printed: as RFC 2253 has it, but with letters of all languages as they are. */
static const unsigned long tls_subject_form = XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB;

/* A certificate's alternative names; each has a kind (GEN_DNS and so on) and bytes. */
static inline GENERAL_NAMES *tls_alternative_names(X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, (int *)0, (int *)0);
}
static inline int tls_alternative_count(GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline int tls_alternative(GENERAL_NAMES *names, int index, const unsigned char **bytes, int *count) {
    int kind = 0;
    ASN1_STRING *text = (ASN1_STRING *)GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, index), &kind);
    *bytes = (const unsigned char *)0;
    *count = 0;
    if (kind == GEN_DNS || kind == GEN_EMAIL || kind == GEN_URI || kind == GEN_IPADD) {
        *bytes = ASN1_STRING_get0_data(text);
        *count = ASN1_STRING_length(text);
    }
    return kind;
}

#endif
