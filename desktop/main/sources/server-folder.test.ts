import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { createServerFolder, folderOf, isOfOneProject, lsofFolder } from './server-folder.ts';

const listener = (pid: number | undefined, port = 3000) => ({
  port,
  pid,
  process: 'node',
  command: 'node server.js',
  manifest: undefined,
});
const folders: Readonly<Record<number, string>> = { 7: '/home/ann/shop', 8: '/', 9: '/srv/site' };
const list = () => Promise.resolve([listener(undefined), listener(9), listener(7), listener(8, 4000)]);
const fails = () => Promise.reject(new Error('no permission'));
const isOne = (folder: string) => isOfOneProject(folder, '/home/ann');
const read = (pid: number) => Promise.resolve(folders[pid]);

describe('the folder of a local server', () => {
  it('is that of the program that listens on the port, and not of Culvert', async () => {
    assert.equal(await folderOf(3000, new Set([9]), list, read), '/home/ann/shop');
    assert.equal(await folderOf(4000, new Set(), list, read), undefined, 'services run in /');
    assert.equal(await folderOf(5000, new Set(), list, read), undefined);
  });

  it('is not known where the system does not tell', async () => {
    assert.equal(await folderOf(3000, new Set(), fails, read), undefined);
    assert.equal(await folderOf(3000, new Set(), () => Promise.resolve([listener(7)]), fails), undefined);
    assert.equal(await createServerFolder('win32', () => new Set())(3000), undefined);
  });

  it('is no home folder, and nothing above one', () => {
    assert.deepEqual(['/', '/home', '/home/ann'].map(isOne), [false, false, false]);
    assert.deepEqual(['/home/ann/shop', '/home/ben', '/srv/site'].map(isOne), [true, true, true]);
  });

  it('is read from lsof', async () => {
    const asked: string[] = [];
    const folder = await lsofFolder(42, (program, args) => {
      asked.push([program, ...args].join(' '));
      return Promise.resolve('p42\nfcwd\nn/Users/ann/web shop\n');
    });
    assert.equal(folder, '/Users/ann/web shop');
    assert.deepEqual(asked, ['/usr/sbin/lsof -a -p 42 -d cwd -Fn']);
  });

  it('is found on this machine', async function () {
    if (process.platform !== 'linux') this.skip();
    const server = createServer().listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const address = server.address();
      assert.ok(address !== null && typeof address === 'object');
      const find = createServerFolder('linux', () => new Set());
      assert.equal(await find(address.port), process.cwd());
      assert.equal(await createServerFolder('linux', () => new Set([process.pid]))(address.port), undefined);
    } finally {
      server.close();
    }
  });
});
