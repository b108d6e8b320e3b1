/** What both sides set at the start of a connection (RFC 9113 section 6.5). */
import { REQUEST_HEAD_MAX_BYTES } from '../request-head.ts';
import {
  ConnectionError,
  ENABLE_CONNECT_PROTOCOL,
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  FLOW_CONTROL_ERROR,
  FRAME_MAX,
  FRAME_SIZE_ERROR,
  HEADER_TABLE_SIZE,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  NO_RFC7540_PRIORITIES,
  numberFrame,
  PROTOCOL_ERROR,
  settingsFrame,
  WINDOW_MAX,
  WINDOW_UPDATE,
} from './frames.ts';
import { HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_STREAM_WINDOW_BYTES } from './intake.ts';

/**
 * Maximum number of concurrent streams on one HTTP/2 connection; more are refused (RFC 9113 section 5.1.2).
 * @limit visitor: Simultaneous requests on an HTTP/2 connection | further requests are refused; browsers wait instead
 */
export const HTTP2_STREAMS_MAX = 100;

/** The first frames of the relay. */
export const OPENING = Buffer.concat([
  settingsFrame([
    [MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX],
    [INITIAL_WINDOW_SIZE, HTTP2_STREAM_WINDOW_BYTES],
    [MAX_HEADER_LIST_SIZE, REQUEST_HEAD_MAX_BYTES],
    [ENABLE_CONNECT_PROTOCOL, 1],
    [NO_RFC7540_PRIORITIES, 1],
  ]),
  numberFrame(WINDOW_UPDATE, 0, HTTP2_CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW),
]);

/** The settings of the visitor. */
export class VisitorSettings {
  readonly #onTableSize: (bytes: number) => void;
  hasArrived = false;
  /** bytes that each stream may be sent at first */
  streamWindow = DEFAULT_WINDOW;

  /** @param onTableSize called with the size of the table that the visitor keeps */
  constructor(onTableSize: (bytes: number) => void) {
    this.#onTableSize = onTableSize;
  }

  /**
   * Reads SETTINGS.
   *
   * @returns how many more bytes each stream may be sent: once, because one frame may set it thousands of times
   * @throws ConnectionError
   */
  read(payload: Buffer): number {
    if (payload.length % 6 !== 0) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong SETTINGS');
    this.hasArrived = true;
    const before = this.streamWindow;
    for (let at = 0; at < payload.length; at += 6)
      this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    return this.streamWindow - before;
  }

  #set(name: number, value: number): void {
    if (name === HEADER_TABLE_SIZE) this.#onTableSize(value);
    else if (name === ENABLE_PUSH && value > 1)
      throw new ConnectionError(PROTOCOL_ERROR, 'a wrong ENABLE_PUSH');
    else if (name === MAX_FRAME_SIZE && (value < FRAME_MAX || value > 2 ** 24 - 1))
      throw new ConnectionError(PROTOCOL_ERROR, 'a wrong MAX_FRAME_SIZE');
    else if (name === INITIAL_WINDOW_SIZE) {
      if (value > WINDOW_MAX) throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window above the limit');
      this.streamWindow = value;
    }
  }
}
