/// Why text is not taken as JSON.
enum JSONFault: Error, Equatable {
    /// It is not JSON, or not UTF-8, at this byte.
    case malformed(offset: Int)
    /// Objects and arrays stand in each other too often.
    case tooDeep
    /// One object has a name twice: two readers may see different values there.
    case repeatedName
}
