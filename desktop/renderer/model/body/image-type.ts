/** Pictures that the window shows, by their first bytes: what a field says of them is not believed. */

export interface ImageType {
  readonly name: string;
  /** media type */
  readonly type: string;
}

const SIGNATURES: readonly (readonly [ImageType, at: number, bytes: string])[] = [
  [{ name: 'PNG', type: 'image/png' }, 0, '\x89PNG\r\n\x1a\n'],
  [{ name: 'JPEG', type: 'image/jpeg' }, 0, '\xff\xd8\xff'],
  [{ name: 'GIF', type: 'image/gif' }, 0, 'GIF87a'],
  [{ name: 'GIF', type: 'image/gif' }, 0, 'GIF89a'],
  [{ name: 'WebP', type: 'image/webp' }, 8, 'WEBP'],
  [{ name: 'AVIF', type: 'image/avif' }, 4, 'ftypavif'],
  [{ name: 'AVIF', type: 'image/avif' }, 4, 'ftypavis'],
];

/** Width times height of the largest picture that is shown: unpacked, it takes four bytes for each. */
export const MOST_PIXELS = 40_000_000;

/** The type of a picture; `undefined` for anything else. SVG is text, see {@link isSvg}. */
export function imageType(body: Uint8Array): ImageType | undefined {
  const found = SIGNATURES.find(([, at, bytes]) =>
    Array.from(bytes, (byte) => byte.charCodeAt(0)).every((byte, index) => body[at + index] === byte),
  );
  return found?.[0];
}

/** Whether a text is a picture that its sender calls one. */
export function isSvg(contentType: string, text: string): boolean {
  return /^image\/svg\+xml\b/i.test(contentType) && /<svg[\s/>]/i.test(text);
}

/** The picture as an address that holds it. */
export function dataUrl(type: string, body: Uint8Array): string {
  let bytes = '';
  for (let at = 0; at < body.length; at += CHUNK)
    bytes += String.fromCharCode(...body.subarray(at, at + CHUNK));
  return `data:${type};base64,${btoa(bytes)}`;
}

/** A function takes only so many arguments. */
const CHUNK = 8192;
