/// Where something stands in a file, so that an error can lead its reader there.
package struct Place: Sendable, Equatable {
    /// The file's name as it should be shown.
    package let file: String
    /// Counted from 1; 0 where a value did not come from text.
    package let line: Int
    /// Counted from 1, in Unicode scalars.
    package let column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}
