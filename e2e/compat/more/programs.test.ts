/** Servers and clients that people use work through a tunnel as they do without one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { startProgram } from '../../support/child.ts';
import { eventually } from '../../support/deadline.ts';
import { runNginx } from '../../support/native-server.ts';
import { Culvert, Relay, temporaryDirectory } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import { concurrentTests, suiteScope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';

const run = promisify(execFile);
const COPY = ['--insecure-policy', 'copy'];
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('programs behind a tunnel, and in front of it', () => {
  const scope = suiteScope();
  let relay: Relay;

  before(async () => {
    relay = await Relay.start(scope);
  });

  const together = concurrentTests();

  /** Waits until a server listens, and exposes it. @returns the public authority */
  async function expose(port: number, name: string): Promise<string> {
    await eventually(60_000, () => visit(port, { host: `127.0.0.1:${port}`, target: '/' }));
    await Culvert.start(scope, relay, relay.bootstrapKey, port, ['--name', name]);
    return `${name}.localhost:${relay.port}`;
  }

  /** Runs a program whose requests to the relay's names go to the relay, because not every resolver knows *.localhost. */
  async function runThere(program: string, ...args: string[]): Promise<string> {
    const env = {
      ...process.env,
      HOME: temporaryDirectory(scope),
      http_proxy: relay.url,
      https_proxy: relay.url,
    };
    return (await run(program, args, { env, timeout: 120_000 })).stdout;
  }

  together('aria2c downloads a file in many ranges, which nginx serves', async () => {
    const folder = temporaryDirectory(scope);
    const file = randomBytes(20_000_000);
    writeFileSync(join(folder, 'file'), file);
    const port = await closedPort();
    await runNginx(scope, port, `server { listen 127.0.0.1:${port}; root ${folder}; }`);
    const host = await expose(port, 'ranges');
    const options = [
      '--split=16',
      '--max-connection-per-server=16',
      '--min-split-size=1M',
      '--quiet',
      '--out=copy',
    ];
    await runThere('aria2c', ...options, `--dir=${folder}`, `http://${host}/file`);
    assert.equal(sha256(readFileSync(join(folder, 'copy'))), sha256(file));
  });

  together('skopeo pushes an image to docker-registry and pulls it again', async () => {
    const folder = temporaryDirectory(scope);
    const port = await closedPort();
    writeFileSync(
      join(folder, 'registry.yml'),
      `version: 0.1\nstorage: {filesystem: {rootdirectory: ${folder}}}\nhttp: {addr: '127.0.0.1:${port}'}\n`,
    );
    startProgram(scope, 'docker-registry', ['serve', join(folder, 'registry.yml')]);
    const host = await expose(port, 'registry');
    const layer = writeImage(join(folder, 'image'));
    await runThere(
      'skopeo',
      ...COPY,
      '--dest-tls-verify=false',
      `oci:${folder}/image:one`,
      `docker://${host}/one:1`,
    );
    await runThere(
      'skopeo',
      ...COPY,
      '--src-tls-verify=false',
      `docker://${host}/one:1`,
      `oci:${folder}/copy:one`,
    );
    assert.equal(sha256(readFileSync(join(folder, 'copy/blobs/sha256', layer))), layer);
  });
});

/** Writes an image with one layer (OCI image layout, version 1.0.0). @returns the digest of the layer */
function writeImage(folder: string): string {
  const blobs = join(folder, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  const blob = (
    mediaType: string,
    content: Buffer | object,
  ): { mediaType: string; digest: string; size: number } => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    writeFileSync(join(blobs, sha256(bytes)), bytes);
    return { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length };
  };
  const type = 'application/vnd.oci.image';
  const content = randomBytes(5_000_000);
  const layer = blob(`${type}.layer.v1.tar+gzip`, gzipSync(content));
  const rootfs = { type: 'layers', diff_ids: [`sha256:${sha256(content)}`] };
  const config = blob(`${type}.config.v1+json`, { architecture: 'amd64', os: 'linux', config: {}, rootfs });
  const manifest = blob(`${type}.manifest.v1+json`, { schemaVersion: 2, config, layers: [layer] });
  const named = { ...manifest, annotations: { 'org.opencontainers.image.ref.name': 'one' } };
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [named] }));
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  return layer.digest.slice('sha256:'.length);
}
