import assert from 'node:assert/strict';
import { dataUrl, imageType, isSvg } from './image-type.ts';

const bytes = (latin1: string): Uint8Array => Uint8Array.from(latin1, (character) => character.charCodeAt(0));

describe('pictures', () => {
  it('are known by their first bytes', () => {
    const files = {
      'image/png': '\x89PNG\r\n\x1a\n....',
      'image/jpeg': '\xff\xd8\xff\xe0',
      'image/gif': 'GIF89a..',
      'image/webp': 'RIFF....WEBPVP8 ',
      'image/avif': '\0\0\0\x20ftypavif',
    };
    for (const [type, file] of Object.entries(files)) assert.equal(imageType(bytes(file))?.type, type);
    for (const other of ['', '\x89PNG', '<svg>', '%PDF-1.7', 'WEBP'])
      assert.equal(imageType(bytes(other)), undefined);
  });

  it('are SVG where the sender says so, and it is', () => {
    assert.equal(isSvg('image/svg+xml; charset=utf-8', '<?xml?><svg xmlns="x">'), true);
    assert.equal(isSvg('text/html', '<svg>'), false);
    assert.equal(isSvg('image/svg+xml', '<p>'), false);
  });

  it('become an address, however large they are', () => {
    const body = Uint8Array.from({ length: 20_000 }, (_, n) => n % 256);
    const [head, content = ''] = dataUrl('image/png', body).split(',');
    assert.equal(head, 'data:image/png;base64');
    assert.deepEqual(bytes(atob(content)), body);
  });
});
