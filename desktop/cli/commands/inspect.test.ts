import assert from 'node:assert/strict';
import { readInspect } from './inspect.ts';

describe('the command line of culvert inspect', () => {
  it('lists by default', () => {
    assert.deepEqual(readInspect([], {}), {
      action: { name: 'list' },
      tunnel: undefined,
      filter: '',
      search: undefined,
      reveal: false,
      json: false,
    });
    assert.deepEqual(readInspect(['watch'], { tunnel: 'demo' }).tunnel, 'demo');
    const shown = readInspect(['show', '12'], { curl: true, reveal: true });
    assert.deepEqual(shown.action, { name: 'show', request: 12, asCurl: true });
    assert.equal(shown.reveal, true);
    assert.equal(readInspect([], { filter: 'POST 500' }).filter, 'POST 500');
  });

  it('edits in an editor, or as the options specify', () => {
    const edit = { name: 'edit', request: 3 };
    assert.deepEqual(readInspect(['edit', '3'], {}).action, {
      ...edit,
      changes: undefined,
      secret: undefined,
    });
    assert.deepEqual(readInspect(['edit', '3'], { header: ['X: 1'], body: '' }).action, {
      ...edit,
      changes: { method: undefined, path: undefined, headers: ['X: 1'], body: '' },
      secret: undefined,
    });
  });

  it('exports all or some, and imports a file or standard input', () => {
    assert.deepEqual(readInspect(['export'], { filter: 'x' }).action, { name: 'export', requests: [] });
    assert.deepEqual(readInspect(['export', '3', '5'], {}).action, { name: 'export', requests: [3, 5] });
    assert.deepEqual(readInspect(['import'], { filter: 'x' }).action, { name: 'import', file: undefined });
    assert.deepEqual(readInspect(['import', 'a.har'], {}).action, { name: 'import', file: 'a.har' });
  });
});
