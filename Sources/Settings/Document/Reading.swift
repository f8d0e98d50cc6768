/// One reading of one file: the document, and what there is to say about it so far.
final class Reading {
    let file: String
    let document: YAMLDocument
    let surroundings: Surroundings
    private(set) var faults: [SettingsFinding] = []
    private(set) var warnings: [SettingsFinding] = []
    /// Many routes may name the same files, and a file of all the world's roots takes long to read.
    private var certificateFaults: [CertificateQuestion: String?] = [:]

    init(file: String, document: YAMLDocument, surroundings: Surroundings) {
        self.file = file
        self.document = document
        self.surroundings = surroundings
    }

    func fault(_ message: String, path: String, at position: SourcePosition) {
        self.faults.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }

    /// As ``Surroundings/certificateFault``, which is asked once.
    func certificateFault(_ question: CertificateQuestion) -> String? {
        if let known = self.certificateFaults[question] { return known }
        let fault = self.surroundings.certificateFault(question)
        self.certificateFaults[question] = .some(fault)
        return fault
    }

    func warn(_ message: String, path: String, at position: SourcePosition) {
        self.warnings.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }
}
