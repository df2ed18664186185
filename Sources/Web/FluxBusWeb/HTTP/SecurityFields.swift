/// Header fields of every answer: what a page of ours may do, which is little, and that others may not use what we say.
enum SecurityFields {
    static let all: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// For whatever is not the same for everybody and always.
    static let data = all + [("Cache-Control", "no-store")]
    /// For the page's files: kept, and asked for again by their tags.
    static let file = all + [("Cache-Control", "no-cache")]
}
