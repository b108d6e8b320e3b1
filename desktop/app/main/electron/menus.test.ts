import assert from 'node:assert/strict';
import type { App, EditFlags, MenuItemConstructorOptions } from 'electron';
import { fakeEmitter } from '../../../testing/fake-electron.ts';
import { applicationMenu, contextMenu, offerContextMenu } from './menus.ts';

const FLAGS: EditFlags = {
  canUndo: false,
  canRedo: false,
  canCut: false,
  canCopy: false,
  canPaste: true,
  canDelete: false,
  canSelectAll: true,
  canEditRichly: false,
};

function roles(template: readonly MenuItemConstructorOptions[]): string[] {
  return template.flatMap(({ role, submenu }) => [
    ...(role === undefined ? [] : [role]),
    ...(Array.isArray(submenu) ? roles(submenu) : []),
  ]);
}

describe('the application menu', () => {
  for (const platform of ['darwin', 'win32', 'linux'] as const) {
    it(`has editing and zoom, but no developer tools, on ${platform}`, () => {
      const found = roles(applicationMenu(platform, () => assert.fail('nobody asked')));
      assert.ok(found.includes('editMenu') && found.includes('zoomIn'), String(found));
      for (const role of ['reload', 'forceReload', 'toggleDevTools', 'viewMenu', 'help'])
        assert.ok(!found.includes(role), role);
    });
  }
});

describe('the file menu', () => {
  for (const platform of ['darwin', 'win32', 'linux'] as const) {
    it(`offers to share a folder or open a project, with shortcuts, on ${platform}`, () => {
      const asked: string[] = [];
      const menu = applicationMenu(platform, (channel) => void asked.push(channel));
      const items = menu.find(({ label }) => label === '&File')?.submenu;
      assert.ok(Array.isArray(items));
      const [share, open] = items;
      assert.deepEqual(
        [share, open].map((item) => [item?.label, item?.accelerator]),
        [
          ['Share a folder…', 'CommandOrControl+Shift+O'],
          ['Open a project…', 'CommandOrControl+O'],
        ],
      );
      for (const item of [share, open]) (item?.click as (() => void) | undefined)?.();
      assert.deepEqual(asked, ['folder:choose', 'project:choose']);
    });
  }
});

describe('the context menu', () => {
  it('pastes into a field', () => {
    const items = contextMenu({ isEditable: true, selectionText: '', editFlags: FLAGS });
    assert.deepEqual(
      items.filter(({ enabled }) => enabled === true).map(({ role }) => role),
      ['paste', 'selectAll'],
    );
  });

  it('copies the selection outside of fields, and does not open without one', () => {
    const editFlags = { ...FLAGS, canCopy: true };
    assert.deepEqual(roles(contextMenu({ isEditable: false, selectionText: '/order', editFlags })), ['copy']);
    assert.deepEqual(contextMenu({ isEditable: false, selectionText: ' ', editFlags }), []);
  });

  it('opens in every page', () => {
    const app = fakeEmitter({});
    const contents = fakeEmitter({});
    const opened: number[] = [];
    offerContextMenu(app as unknown as App, (template) => ({
      popup: () => void opened.push(template.length),
    }));
    app.emit('web-contents-created', {}, contents);
    contents.emit('context-menu', {}, { isEditable: true, selectionText: '', editFlags: FLAGS });
    contents.emit('context-menu', {}, { isEditable: false, selectionText: '', editFlags: FLAGS });
    assert.deepEqual(opened, [5]);
  });
});
