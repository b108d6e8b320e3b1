import assert from 'node:assert/strict';
import {
  type CallOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { createAccount } from '../support/accounts.ts';
import { Authority } from '../support/certificates.ts';
import { assertWithin } from '../support/deadline.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';
import { ECHO, startGrpcService } from '../support/services/grpc.ts';

const identity = (bytes: Buffer): Buffer => bytes;

const unary = (client: Client, path: string, message: string, options: CallOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      identity,
      identity,
      Buffer.from(message),
      new Metadata(),
      options,
      (error, value) => (error === null ? resolve(String(value)) : reject(error)),
    );
  });
const failsWith = (code: status) => (error: unknown) => (error as ServiceError).code === code;
const all = async (stream: AsyncIterable<Buffer>): Promise<string[]> => {
  const got: string[] = [];
  for await (const piece of stream) got.push(String(piece));
  return got;
};

describe('gRPC over HTTP/2 on both sides of a tunnel', () => {
  const scope = suiteScope();
  let authority: Authority;
  let relay: Relay;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    relay = await Relay.start(scope, {
      CULVERT_HTTP2: 'on',
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    });
  });

  const together = concurrentTests();

  async function connect(): Promise<{
    client: Client;
    service: Awaited<ReturnType<typeof startGrpcService>>;
  }> {
    const service = await startGrpcService(scope);
    const { key } = await createAccount(relay);
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    const culvert = await Culvert.start(scope, relay, key, service.port, ['--upstream', 'h2c'], environment);
    const trust = credentials.createSsl(authority.pem);
    const host = `${culvert.tunnel.slug}.tunnels.test`;
    const client = new Client(`127.0.0.1:${relay.port}`, trust, {
      'grpc.ssl_target_name_override': host,
      'grpc.default_authority': `${host}:${relay.port}`,
    });
    scope.defer(() => client.close());
    return { client, service };
  }

  together('carries the four kinds of calls', async () => {
    const { client } = await connect();
    assert.equal(await unary(client, ECHO.Unary.path, 'hello'), 'hello');
    const collected = new Promise<string>((resolve, reject) => {
      const call = client.makeClientStreamRequest(
        ECHO.ClientStream.path,
        identity,
        identity,
        (error, value) => (error === null ? resolve(String(value)) : reject(error)),
      );
      for (const piece of ['a', 'b']) call.write(Buffer.from(piece));
      call.end();
    });
    assert.equal(await collected, 'ab');
    const server: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
      ECHO.ServerStream.path,
      identity,
      identity,
      Buffer.from('xyz'),
    );
    assert.deepEqual(await all(server), ['x', 'y', 'z']);
    const both: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
      ECHO.Both.path,
      identity,
      identity,
    );
    const answers = all(both);
    both.write(Buffer.from('one'));
    both.write(Buffer.from('two'));
    both.end();
    assert.deepEqual(await answers, ['one', 'two']);
  });

  together('carries errors, in trailers and alone', async () => {
    const { client } = await connect();
    await assert.rejects(unary(client, ECHO.Unary.path, 'fail'), failsWith(status.INVALID_ARGUMENT));
    await assert.rejects(unary(client, '/test.Echo/Missing', 'x'), failsWith(status.UNIMPLEMENTED));
    const stream = client.makeServerStreamRequest(
      ECHO.ServerStream.path,
      identity,
      identity,
      Buffer.from('a!'),
    );
    await assert.rejects(all(stream), failsWith(status.INVALID_ARGUMENT));
  });

  together('keeps deadlines, and tells the service of a cancellation within a second', async () => {
    const { client, service } = await connect();
    await assert.rejects(
      unary(client, ECHO.Unary.path, 'wait', { deadline: Date.now() + 500 }),
      failsWith(status.DEADLINE_EXCEEDED),
    );
    const call = client.makeServerStreamRequest(
      ECHO.ServerStream.path,
      identity,
      identity,
      Buffer.from('ab…'),
    );
    call.on('error', () => {});
    await new Promise((resolve) => call.once('data', resolve));
    const cancelled = service.nextCancelled();
    const before = performance.now();
    call.cancel();
    assert.equal(await cancelled, 'ServerStream');
    assertWithin(performance.now() - before, 1000);
  });

  together('reports UNAVAILABLE or worse, never OK, if the service stops', async () => {
    const { client, service } = await connect();
    const call = client.makeServerStreamRequest(
      ECHO.ServerStream.path,
      identity,
      identity,
      Buffer.from('ab…'),
    );
    const ended = all(call);
    await new Promise((resolve) => call.once('data', resolve));
    service.stop();
    await assert.rejects(ended);
  });
});
