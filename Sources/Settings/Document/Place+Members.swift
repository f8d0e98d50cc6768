internal import Yams

extension Place {
    /// A value within a mapping, and the name it has there.
    struct Member {
        let name: String
        let place: Place
    }

    /// The values of a mapping by their names, in the order of the file. A name that comes twice is a fault, and its
    /// first value stands.
    func members() -> [Member]? {
        guard case .mapping(let mapping) = self.content else {
            self.expected("a mapping")
            return nil
        }
        var members: [Member] = []
        var seen: [String: SourcePosition] = [:]
        for (key, value) in mapping {
            let position = key.mark.map { SourcePosition($0) } ?? self.position
            guard case .scalar(let scalar) = key else {
                self.reading.fault("a key must be text: before a colon there is a name", path: self.path, at: position)
                continue
            }
            let name = self.reading.document.text(of: scalar)
            let place = Place(node: value, path: self.path(of: name), keyPosition: position, reading: self.reading)
            if let first = seen.updateValue(position, forKey: name) {
                seen[name] = first
                place.faultAtKey("is given twice, first at line \(first.line)")
            } else {
                members.append(Member(name: name, place: place))
            }
        }
        return members
    }

    /// The values of a list.
    func items() -> [Place]? {
        guard case .list(let nodes) = self.content else {
            self.expected("a list")
            return nil
        }
        return nodes.enumerated().map { index, node in
            let position = node.mark.map { SourcePosition($0) } ?? self.position
            return Place(node: node, path: "\(self.path)[\(index)]", keyPosition: position, reading: self.reading)
        }
    }

    private func path(of name: String) -> String {
        let shown = name.count > 64 ? name.prefix(64) + "…" : name[...]
        return self.path.isEmpty ? String(shown) : "\(self.path).\(shown)"
    }
}
