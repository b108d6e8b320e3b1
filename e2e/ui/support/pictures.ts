/** What the scripts that make the pictures of the documentation share. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const IMAGES = fileURLToPath(new URL('../../../docs/images', import.meta.url));
const FONT = new URL(
  '../../../node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
  import.meta.url,
);

/** A style sheet with a font that is the same everywhere. Its page needs `bypassCSP`. */
export function fontStyle(): string {
  return `
    @font-face {
      font-family: Inter;
      font-weight: 100 900;
      src: url(data:font/woff2;base64,${readFileSync(FONT, 'base64')});
    }
    body { font-family: Inter, sans-serif; }`;
}
