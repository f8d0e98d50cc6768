/// A piece of HTML. A literal is taken as it stands, and whatever is interpolated into it is escaped, unless it is a piece
/// of HTML itself. So no text of an account, an operator or a provider becomes markup.
///
///     let greeting: Markup = "<p>Hello, \(name)</p>"
package struct Markup: Sendable {
    package let html: String

    private init(html: String) { self.html = html }

    /// Replaces the characters that HTML gives a meaning to in text and in quoted attributes. Characters that can't be seen
    /// or that turn the direction of the text become U+FFFD, so that a text is what it seems to be.
    package static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(Self.isShown(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return escaped
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
        default: true
        }
    }
}

extension Markup: ExpressibleByStringInterpolation {
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var html = ""

        package init(literalCapacity: Int, interpolationCount: Int) { self.html.reserveCapacity(literalCapacity) }

        package mutating func appendLiteral(_ literal: String) { self.html += literal }

        package mutating func appendInterpolation(_ text: String) { self.html += Markup.escape(text) }

        package mutating func appendInterpolation(_ markup: Markup) { self.html += markup.html }

        package mutating func appendInterpolation(_ pieces: [Markup]) {
            for piece in pieces { self.html += piece.html }
        }
    }

    package init(stringLiteral literal: String) { self.init(html: literal) }

    package init(stringInterpolation: StringInterpolation) { self.init(html: stringInterpolation.html) }
}
