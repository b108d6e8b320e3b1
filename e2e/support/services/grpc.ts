/** A gRPC service with one method of each kind. Messages are bytes, so it needs no definition in protobuf. */
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type KeyCertPair,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import type { Scope } from '../scope.ts';

const asItIs = (bytes: Buffer): Buffer => bytes;
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/test.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: asItIs,
  requestDeserialize: asItIs,
  responseSerialize: asItIs,
  responseDeserialize: asItIs,
});

export const ECHO = {
  /** Returns the message. Fails with INVALID_ARGUMENT for `fail`, and never answers `wait`. */
  Unary: method('Unary', false, false),
  /** Returns all messages as one. */
  ClientStream: method('ClientStream', true, false),
  /** Returns each letter of the message, then stays open if the message ends with `…`, or fails if with `!`. */
  ServerStream: method('ServerStream', false, true),
  /** Returns each message as it arrives, `tick` every 5 s from then on. */
  Both: method('Both', true, true),
} as const satisfies ServiceDefinition;

const trailers = (): Metadata => {
  const sent = new Metadata();
  sent.set('x-end', 'reached');
  return sent;
};

/** @param tls without it, the service speaks h2c */
export async function startGrpcService(scope: Scope, tls?: KeyCertPair) {
  const server = new Server();
  let metadata: Metadata | undefined;
  const waiting = Promise.withResolvers<void>();
  let cancelled = Promise.withResolvers<string>();
  const watch = (call: { on(event: 'cancelled', listener: () => void): unknown }, name: string): void => {
    call.on('cancelled', () => {
      cancelled.resolve(name);
      cancelled = Promise.withResolvers();
    });
  };
  const failure = { code: status.INVALID_ARGUMENT, details: 'not that one' };
  const Unary: handleUnaryCall<Buffer, Buffer> = (call, callback) => {
    watch(call, 'Unary');
    metadata = call.metadata;
    const text = String(call.request);
    if (text === 'fail') callback({ ...failure, metadata: trailers() });
    else if (text === 'wait') waiting.resolve();
    else callback(null, call.request, trailers());
  };
  const ClientStream: handleClientStreamingCall<Buffer, Buffer> = (call, callback) => {
    watch(call, 'ClientStream');
    const pieces: Buffer[] = [];
    call.on('data', (piece: Buffer) => pieces.push(piece));
    call.on('end', () => callback(null, Buffer.concat(pieces), trailers()));
  };
  const ServerStream: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    watch(call, 'ServerStream');
    const text = String(call.request);
    for (const letter of text) call.write(Buffer.from(letter));
    if (text.endsWith('!')) call.emit('error', failure);
    else if (!text.endsWith('…')) call.end(trailers());
  };
  const Both: handleBidiStreamingCall<Buffer, Buffer> = (call) => {
    watch(call, 'Both');
    let ticks: NodeJS.Timeout | undefined;
    call.on('data', (piece: Buffer) => {
      call.write(piece);
      if (String(piece) === 'tick') ticks = setInterval(() => call.write(piece), 5000);
    });
    call.on('cancelled', () => clearInterval(ticks)).on('end', () => clearInterval(ticks));
    call.on('end', () => call.end(trailers()));
    call.on('error', () => {});
  };
  server.addService(ECHO, { Unary, ClientStream, ServerStream, Both });
  const credentials =
    tls === undefined ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, [tls]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  scope.defer(() => server.forceShutdown());
  return {
    port,
    /** Cuts all calls and connections. */
    stop: () => server.forceShutdown(),
    /** Waits until a call is cancelled. @returns the name of its method */
    nextCancelled: () => cancelled.promise,
    /** a unary call waits for its answer */
    waiting: waiting.promise,
    /** the metadata of the last unary call */
    get metadata() {
      return metadata;
    },
  };
}
