/// The version of this daemon, as `hello` and `--version` report it.
package enum Version {
    package static let text = "0.1.0"
}
