/**
 * `culvert inspect edit`, `export` and `import`: requests of a running `culvert` are changed, exported and imported
 * again.
 */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import {
  Culvert,
  type Environment,
  type Relay,
  spawnCulvert,
  temporaryDirectory,
} from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

interface Seen {
  readonly line: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface Listed {
  readonly number: number;
  readonly target: string;
  readonly status: number | null;
  readonly replay_of: number | null;
  readonly imported: boolean;
}

describe('culvert inspect edit, export and import', () => {
  const scope = suiteScope();
  let relay: Relay;
  let runtime: string;
  const seen: Seen[] = [];

  before(async () => {
    relay = await sharedRelay();
    runtime = temporaryDirectory(scope);
    const service = await startHttpService(scope, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('latin1');
        seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
        response.statusCode = request.url?.startsWith('/fixed') === true ? 200 : 500;
        response.end('answer');
      });
    });
    const { key } = await createAccount(relay);
    await Culvert.start(scope, relay, key, service.port, ['--name', 'bench'], environment());
    await visit(relay.port, {
      method: 'POST',
      target: '/hook?token=s3cret&a=1',
      host: `bench.localhost:${relay.port}`,
      headers: [
        ['Authorization', 'Bearer s3cret'],
        ['X-Name', 'Gr\xc3\xbc\xc3\x9fe'],
      ],
      body: '{"event":"paid"}',
    });
  });

  /** An environment without files of other processes of this user. */
  function environment(program?: string): Environment {
    return {
      XDG_RUNTIME_DIR: runtime,
      TMPDIR: runtime,
      ...(program === undefined ? {} : { VISUAL: '', EDITOR: program }),
    };
  }

  async function inspect(args: readonly string[], input?: string, program?: string) {
    const child = spawnCulvert(scope, ['inspect', ...args], environment(program), input);
    const { code } = await child.exit();
    return { code, out: child.lines.join('\n'), err: child.stderr };
  }

  async function output(...args: string[]): Promise<string> {
    const { code, out, err } = await inspect(args);
    assert.equal(code, 0, err);
    return out;
  }

  async function list(): Promise<readonly Listed[]> {
    return (JSON.parse(await output('list', '--json')) as { requests: readonly Listed[] }).requests;
  }

  /** A program that changes the file it gets. */
  function editor(script: string): string {
    const path = join(temporaryDirectory(scope), 'edit it.sh');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return `'${path}' --wait`;
  }

  it('sends the request with the given changes and its hidden secrets, as a repetition', async () => {
    const shown = await output(
      'edit',
      '1',
      '--path',
      '/fixed?token=[redacted]',
      '--header',
      'X-New: ü',
      '--body',
      'new',
    );
    assert.match(shown, /\(again 1\)[^]*200[^]*answer/);
    assert.doesNotMatch(shown, /s3cret/);
    const last = seen.at(-1);
    assert.deepEqual([last?.line, last?.body], ['POST /fixed?token=s3cret', 'new']);
    assert.equal(last?.headers['authorization'], 'Bearer s3cret');
    assert.equal(last?.headers['x-new'], '\xc3\xbc');
    assert.deepEqual(
      [last?.headers['host'], last?.headers['content-length']],
      [`bench.localhost:${relay.port}`, '3'],
    );
    assert.equal((await list())[0]?.replay_of, 1);
  });

  it('sends the request that was saved in an editor, and leaves no file', async () => {
    const kept = join(temporaryDirectory(scope), 'kept');
    const script = `[ "$1" = --wait ] || exit 1; stat -c %a "$2" > ${kept}; echo "$2" >> ${kept}; sed -i 's,/hook,/fixed,; s,paid,open,' "$2"`;
    const { code, err } = await inspect(['edit', '1'], undefined, editor(script));
    assert.equal(code, 0, err);
    const last = seen.at(-1);
    assert.deepEqual([last?.line, last?.body], ['POST /fixed?token=s3cret&a=1', '{"event":"open"}']);
    assert.equal(last?.headers['x-name'], 'Gr\xc3\xbc\xc3\x9fe');
    const [mode, file = ''] = readFileSync(kept, 'utf8').split('\n');
    assert.equal(mode, '600');
    assert.equal(existsSync(file), false);
  });

  it('sends nothing that was not changed, is wrong, or whose editor fails', async () => {
    const before = seen.length;
    assert.match((await inspect(['edit', '1'], undefined, editor('true'))).err, /Nothing was changed/);
    const failed = await inspect(['edit', '1'], undefined, editor('exit 3'));
    assert.equal(failed.code, 1);
    assert.match(failed.err, /failed, so nothing was sent/);
    const wrong = await inspect(['edit', '1', '--header', 'Content-Length: 3']);
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /Culvert sets the header Content-Length itself/);
    assert.equal(seen.length, before);
  });

  it('exports without secrets unless they are requested, with a notice', async () => {
    const { out, err } = await inspect(['export', '1']);
    assert.doesNotMatch(out, /s3cret/);
    assert.match(err, /Secrets are replaced by \[redacted\]\. Use --reveal to include them/);
    const all = JSON.parse(await output('export')) as { log: { entries: readonly unknown[] } };
    assert.equal(all.log.entries.length, (await list()).length);
  });

  it('imports an exported request unchanged, both as HAR and as a curl command', async () => {
    const file = join(temporaryDirectory(scope), 'a.har');
    writeFileSync(file, await output('export', '1', '--reveal'));
    const before = seen.length;
    assert.match(await output('import', file), /\(imported\) .*POST +\/hook\?token=\[redacted\]&a=1 +500/);
    const command = await output('show', '1', '--curl', '--reveal');
    const { code, out, err } = await inspect(['import'], command);
    assert.equal(code, 0, err);
    assert.match(out, /not sent/);
    assert.equal(seen.length, before, 'an import sends nothing');
    const [fromCurl, fromHar] = await list();
    assert.deepEqual([fromCurl?.imported, fromHar?.imported, fromHar?.status], [true, true, 500]);
    const repeated: Seen[] = [];
    for (const id of [1, fromHar?.number, fromCurl?.number]) {
      await output('replay', String(id));
      repeated.push(seen.at(-1) ?? assert.fail('nothing was sent'));
    }
    const [original, har, curl] = repeated;
    assert.deepEqual(har, original);
    // A curl command has no fields that a relay adds.
    const {
      'x-forwarded-for': _for,
      'x-forwarded-host': _host,
      'x-forwarded-proto': _proto,
      ...headers
    } = original?.headers ?? {};
    assert.deepEqual(curl, { ...original, headers });
  });
});
