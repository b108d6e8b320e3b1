/** What `culvert-relay` prints, with a database of its own for each file. `UPDATE=1` writes the files. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goldenFiles, readEscapes, type World } from '../../shared/testing/golden.ts';
import { VERSION } from '../../shared/version.ts';
import { markMoved } from '../store/database-address.ts';
import { openSqlite, openSqliteDatabase } from '../store/sqlite/open-sqlite.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { aTunnel } from '../testing/fixtures.ts';
import { main } from './main.ts';

const noRelay = () => assert.fail('no relay should start');
const folders: string[] = [];

async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-golden-'));
  folders.push(folder);
  const path = join(folder, 'culvert.db');
  await (await openSqlite(path, () => {})).close();
  return {
    /** Gets `file NAME TEXT`, `tunnel SLUG SECONDS` of the account acme, `origin URL` or `moved URL`. */
    async give(line) {
      const [what, name = '', ...rest] = line.split(' ');
      if (what === 'file') writeFileSync(join(folder, name), readEscapes(rest.join(' ')));
      else if (what === 'moved') {
        const db = await openSqliteDatabase(path);
        await markMoved(db, name, Date.UTC(2030, 0, 2));
        await db.destroy();
      } else {
        const store = await openSqlite(path, () => {});
        if (what === 'origin') await store.setPublicOrigin(name);
        const accountId = (await store.findAccount('acme'))?.id ?? '';
        const expiresAt = Date.now() + Number(rest[0]) * 1000;
        if (what === 'tunnel') await store.insertTunnel(aTunnel(accountId, { slug: name, expiresAt }));
        await store.close();
      }
    },
    async run({ env, words }) {
      const shell = new FakeShell();
      Object.assign(shell.env, { CULVERT_DATA_DIR: folder });
      for (const [name, value] of Object.entries(env)) shell.env[name] = value.replace('FOLDER', folder);
      const argv = words.map((word) => word.replace('FOLDER', folder));
      const code = await main(shell, argv, noRelay);
      const [out = '', err = ''] = [shell.stdout, shell.stderr].map((lines) =>
        lines.map((line) => `${line.replaceAll(VERSION, 'VERSION')}\n`).join(''),
      );
      return { code, out, err };
    },
  };
}

describe('culvert-relay prints the content of', () => {
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  goldenFiles(join(import.meta.dirname, 'golden'), startWorld, {
    FOLDER: /[^\s"':]*culvert-golden-\w{6}/g,
    ID_: /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g,
    TIME: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g,
    HINT_: /cvt_\w{4}/g,
    SECRET_: /(?<=HINT_\d+)\w{28}/g,
    CODE_: /(?<=\/invite\/)[\w-]{32}/g,
  });
});
