/// One reading of one file: the document, and what there is to say about it so far.
final class Reading {
    let file: String
    let document: YAMLDocument
    let surroundings: Surroundings
    private(set) var faults: [SettingsFinding] = []
    private(set) var warnings: [SettingsFinding] = []

    init(file: String, document: YAMLDocument, surroundings: Surroundings) {
        self.file = file
        self.document = document
        self.surroundings = surroundings
    }

    func fault(_ message: String, path: String, at position: SourcePosition) {
        self.faults.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }

    func warn(_ message: String, path: String, at position: SourcePosition) {
        self.warnings.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }
}
