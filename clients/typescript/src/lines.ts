// Lines out of chunks, as bytes: kept pieces are joined when their line ends, and nothing longer than the limit is kept.

export const LINE_LIMIT = 16 * 1024 * 1024;
const LF = 10;

export class LineSplitter {
  /** A line was longer than the limit: nothing of it or after it is delivered. */
  exceeded = false;
  private pieces: Uint8Array[] = [];
  private kept = 0;

  constructor(readonly limit: number = LINE_LIMIT) {
    if (!(limit >= 1)) throw new RangeError("the limit of a line is at least one byte");
  }

  *feed(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    while (!this.exceeded) {
      const end = chunk.indexOf(LF, start);
      this.keep(chunk.subarray(start, end < 0 ? chunk.length : end));
      if (end < 0 || this.exceeded) return;
      start = end + 1;
      yield this.take();
    }
  }

  /** What follows the last LF, if anything. */
  rest(): Uint8Array | undefined {
    return this.kept > 0 ? this.take() : undefined;
  }

  private keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.kept += piece.length;
    if (this.kept > this.limit) {
      this.exceeded = true;
      this.pieces = [];
      this.kept = 0;
      return;
    }
    this.pieces.push(piece.slice()); // the caller may use its buffer again
  }

  private take(): Uint8Array {
    const line = this.pieces.length === 1 ? this.pieces[0]! : new Uint8Array(this.kept);
    if (this.pieces.length !== 1) {
      let at = 0;
      for (const piece of this.pieces) {
        line.set(piece, at);
        at += piece.length;
      }
    }
    this.pieces = [];
    this.kept = 0;
    return line;
  }
}
