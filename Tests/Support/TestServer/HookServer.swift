import BusJSON
import Foundation
import TestFiles

/// A server of HTTP by Python's library, which does what the first word of a path says, and writes down what it was sent.
package final class HookServer {
    package struct Request {
        package let path: String
        package let headers: [(name: String, value: String)]
        package let body: String

        package subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    private static let program = """
        import email.utils, http.server, json, socket, ssl, struct, sys, time
        record, certificate, key, clients = sys.argv[1:5]
        counts = {}
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with open(record, "a") as file:
                    file.write(json.dumps([self.path, self.headers.items(), body.decode()]) + "\\n")
                print("got", self.path, flush=True)
                word = self.path.split("/")[1]
                counts[word] = counts.get(word, 0) + 1
                if word == "hang" or word == "hang-once" and counts[word] == 1: time.sleep(1000)
                if word == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    return self.connection.close()
                if word.startswith("endless"):
                    self.send_response(500 if word == "endless-fail" else 200)
                    self.end_headers()
                    while True: self.wfile.write(b"x" * 65536)
                status = {"fail": 500, "redirect": 302, "moved": 308, "gone": 410}.get(word, 200)
                # busy-STATUS-SECONDS, or with a date in so many seconds: so it answers the first time.
                busy = word.split("-") if word.startswith("busy") and counts[word] == 1 else None
                if busy: status = int(busy[1])
                words = b"it is\\nbroken" if word == "fail" else b""
                self.send_response(status)
                if word == "long": self.send_header("X-Long", "x" * 500000)
                if 300 <= status < 400: self.send_header("Location", "/redirected")
                if busy:
                    date = email.utils.formatdate(time.time() + int(busy[2]), usegmt=True)
                    self.send_header("Retry-After", date if busy[0] == "busydate" else busy[2])
                self.send_header("Content-Length", str(len(words)))
                self.end_headers()
                self.wfile.write(words)
            do_GET = do_POST
            def log_message(self, *words): pass
        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128
            def handle_error(self, *words): pass
        server = Server(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            if clients:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(clients)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        print("port", server.server_port, "is open", flush=True)
        server.serve_forever()
        """

    private let directory = TemporaryDirectory()
    private let program: RunningProgram
    package let port: Int

    /// - Parameters:
    ///   - certificate: A PEM file, by which it speaks TLS; `key` has its key.
    ///   - clients: A PEM file with the authority of the certificates that it demands of clients.
    ///   - through: A command that becomes the program, as of `RunningProgram`.
    package init(
        certificate: String = "", key: String = "", clients: String = "", through: [String] = []
    ) throws {
        program = try RunningProgram(
            through + [
                "/usr/bin/python3", "-c", Self.program, "\(directory.path)/requests", certificate, key,
                clients,
            ])
        let line = program.nextLine() ?? ""
        port = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    deinit { program.kill() }

    /// Returns once another request has come; false if none does.
    package func awaitRequest() -> Bool { program.nextLine()?.hasPrefix("got") ?? false }

    /// What it was sent so far.
    package var requests: [Request] {
        let text = (try? String(contentsOfFile: "\(directory.path)/requests", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            guard let json = try? JSON(parsing: Array(line.utf8)) else { return nil }
            let headers = (json[1]?.array ?? []).map { ($0[0]?.string ?? "", $0[1]?.string ?? "") }
            return Request(path: json[0]?.string ?? "", headers: headers, body: json[2]?.string ?? "")
        }
    }
}
