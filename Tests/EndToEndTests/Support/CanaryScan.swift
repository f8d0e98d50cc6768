import Foundation
import TestKit

/// Searches files and output for secrets, both verbatim and in the encodings that files use.
struct CanaryScan {
    /// A secret that a test knows, and the only file that may contain it.
    struct Canary {
        let name: String
        let text: String
        /// The last path component of that file.
        var home: String?
    }

    var canaries: [Canary] = []
    /// The files and outputs to search, with their names.
    private var places: [(name: String, bytes: Data)] = []

    mutating func add(_ name: String, _ text: String, home: String? = nil) {
        self.canaries.append(Canary(name: name, text: text, home: home))
    }

    mutating func look(at text: String, in place: String) {
        self.places.append((place, Data(text.utf8)))
    }

    /// Adds all files below a directory, of any type.
    mutating func look(into directory: String) throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory)
        for file in files {
            guard let bytes = FileManager.default.contents(atPath: "\(directory)/\(file)") else { continue }
            self.places.append((file, bytes))
        }
    }

    /// One line for each canary and the place that contains it.
    var findings: [String] {
        self.canaries.flatMap { canary in
            self.places
                .filter { place in
                    URL(filePath: place.name).lastPathComponent != canary.home
                        && Self.spellings(canary.text).contains { place.bytes.range(of: $0) != nil }
                }
                .map { "\(canary.name) in \($0.name)" }
        }
    }

    /// The text verbatim, in Base64 at each of its three alignments, and in hexadecimal. The Base64 forms leave out the
    /// characters at both ends that depend on neighboring bytes.
    private static func spellings(_ text: String) -> [Data] {
        let bytes = Data(text.utf8)
        let aligned = (0..<3).map { offset in
            let whole = bytes.dropFirst(offset).prefix((bytes.count - offset) / 3 * 3)
            return Data(whole.base64EncodedString().utf8)
        }
        let hexadecimal = bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }
        return [bytes, Data(hexadecimal.joined().utf8)] + aligned
    }
}
