/** Path and query of an address, without its fragment, in visible ASCII; nothing else of it is changed. */
export function targetOf(url: string): string {
  const [, rest = ''] = /^(?:[a-z][a-z\d+.-]*:)?(?:\/\/)?[^/?#]*([^#]*)/i.exec(url) ?? [];
  const target = rest.replace(/[^!-~]+/g, (text) => encode(text));
  return target.startsWith('/') ? target : `/${target}`;
}

function encode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
