import assert from 'node:assert/strict';
import { NO_FILES } from '../../testing/command-context.ts';
import { readArguments } from './commands.ts';

const read = (...args: string[]) => readArguments(['inspect', ...args], {}, NO_FILES).given;
const GIVEN = { tunnel: undefined, filter: '', search: undefined, reveal: false, json: false };

describe('the command line of culvert inspect', () => {
  it('lists by default', () => {
    assert.deepEqual(read(), { ...GIVEN, action: { name: 'list' } });
    assert.deepEqual(read('--filter', 'POST 500'), {
      ...GIVEN,
      action: { name: 'list' },
      filter: 'POST 500',
    });
    assert.deepEqual(read('watch', '--tunnel', 'demo'), {
      ...GIVEN,
      action: { name: 'watch' },
      tunnel: 'demo',
    });
    assert.deepEqual(read('show', '12', '--curl', '--reveal'), {
      ...GIVEN,
      action: { name: 'show', request: 12, asCurl: true },
      reveal: true,
    });
  });

  it('edits in an editor, or as the options specify', () => {
    const edit = { name: 'edit', request: 3, secret: undefined };
    assert.deepEqual(read('edit', '3'), { ...GIVEN, action: { ...edit, changes: undefined } });
    assert.deepEqual(read('edit', '3', '--header', 'X: 1', '--body='), {
      ...GIVEN,
      action: { ...edit, changes: { method: undefined, path: undefined, headers: ['X: 1'], body: '' } },
    });
  });

  it('exports all or some, and imports a file or standard input', () => {
    const ex = (requests: number[]) => ({ ...GIVEN, action: { name: 'export', requests } });
    assert.deepEqual(read('export', '--filter', 'x'), { ...ex([]), filter: 'x' });
    assert.deepEqual(read('export', '3', '5'), ex([3, 5]));
    assert.deepEqual(read('import'), { ...GIVEN, action: { name: 'import', file: undefined } });
    assert.deepEqual(read('import', 'a.har'), { ...GIVEN, action: { name: 'import', file: 'a.har' } });
  });
});
