import Properties

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe Property.caching.demand(for: UnsafeBufferPointer(start: start, count: count))
    return 0
}
