/** Writes and reads frames of a trunk for tests. */
import { CloseCode } from '../control.ts';
import { DATA_MAX_BYTES, FRAME_HEADER_BYTES, FrameReader, FrameType, writeHeader } from '../trunk/frames.ts';

/** A frame's header, valid or not. */
export function header(type: number, id: number, value: number): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  writeHeader(bytes, 0, type as FrameType, id, value);
  return bytes;
}

export const open = (id: number): Buffer => header(FrameType.open, id, 0);
export const end = (id: number): Buffer => header(FrameType.end, id, 0);
export const abort = (id: number, code: number = CloseCode.goingAway): Buffer =>
  header(FrameType.abort, id, code);
export const moved = (id: number): Buffer => header(FrameType.moved, id, 0);
export const move = (id: number, connectionId: string): Buffer =>
  Buffer.concat([header(FrameType.move, id, connectionId.length), Buffer.from(connectionId)]);
export const window = (id: number, bytes: number): Buffer => header(FrameType.window, id, bytes);

/** Bytes of a stream, or that many dots, in DATA frames of the maximum size. */
export function data(id: number, content: string | number): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.alloc(content, '.');
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += DATA_MAX_BYTES) {
    const piece = bytes.subarray(at, at + DATA_MAX_BYTES);
    frames.push(header(FrameType.data, id, piece.length), piece);
  }
  return Buffer.concat(frames);
}

/** Frames as text; content of more than eight bytes becomes its length. */
export function read(bytes: Buffer): string[] {
  const seen: string[] = [];
  new FrameReader({
    onOpen: (id) => seen.push(`open ${id}`),
    onData: (id, piece) => seen.push(`data ${id} ${piece.length > 8 ? piece.length : piece.toString()}`),
    onEnd: (id) => seen.push(`end ${id}`),
    onAbort: (id, code) => seen.push(`abort ${id} ${code}`),
    onWindow: (id, more) => seen.push(`window ${id} ${more}`),
    onMove: (id, connectionId) => seen.push(`move ${id} ${connectionId}`),
    onMoved: (id) => seen.push(`moved ${id}`),
    onProtocolError: (reason) => seen.push(`error: ${reason}`),
  }).push(bytes);
  return seen;
}
