/** A tunnel's address in parts that are shown with different weight. */

export interface AddressParts {
  readonly before: string;
  /** what distinguishes this tunnel from others */
  readonly slug: string;
  readonly after: string;
}

/** Splits `https://shop-demo.tunnels.example.com` around its slug; the scheme, and a slash at the end, are left out. */
export function addressParts(url: string, slug: string): AddressParts {
  const shown = url.replace(/^https?:\/\//, '').replace(/\/$/, '');
  if (shown.startsWith(`${slug}.`)) return { before: '', slug, after: shown.slice(slug.length) };
  const path = `/t/${slug}`;
  if (shown.endsWith(path)) return { before: shown.slice(0, -slug.length), slug, after: '' };
  return { before: '', slug: shown, after: '' };
}
