/** What visitors are served over, whoever opened it. */
import type { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import type { Attempt } from '../network/dial.ts';
import type { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';

/** An open data socket. */
export type DataSocket = Pick<
  WebSocketByteStream,
  'attach' | 'write' | 'pause' | 'resume' | 'close' | 'destroy' | 'lookForEnd'
>;

/** Told once what became of a data socket, never before it has been asked for. */
export interface DataHandler {
  /** Attaches to the stream before it returns. */
  opened(stream: DataSocket): void;
  /**
   * @param error {@link RelayRefusal} when the relay answers with an HTTP error: 404 when the visitor is gone, 429 when
   *   enough sockets are offered
   */
  failed(error: RelayRefusal | RelayUnreachable): void;
}

/** Opens the data sockets of announced visitors. */
export interface DataSource {
  /** @param connectionId the `id` of a `connection` message */
  open(connectionId: string, handler: DataHandler): Attempt;
}
