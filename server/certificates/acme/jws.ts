/** How requests to an authority are signed (RFC 8555 section 6.2, RFC 7515): ES256. */
import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** By what the authority knows who signs: the address of an account, or the key itself before there is one. */
export type Signer = { readonly key: KeyObject; readonly account: string | undefined };

interface Jwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

/** @param payload `''` for a POST-as-GET (RFC 8555 section 6.3) */
export function signedRequest(
  { key, account }: Signer,
  url: string,
  nonce: string,
  payload: object | '',
): string {
  const who = account === undefined ? { jwk: jwkOf(key) } : { kid: account };
  const head = encoded(JSON.stringify({ alg: 'ES256', nonce, url, ...who }));
  const body = payload === '' ? '' : encoded(JSON.stringify(payload));
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({ protected: head, payload: body, signature: signature.toString('base64url') });
}

/** What proves that a challenge was seen by who has the account's key (RFC 8555 section 8.1). */
export function keyAuthorization(token: string, key: KeyObject): string {
  const thumbprint = createHash('sha256')
    .update(JSON.stringify(jwkOf(key)))
    .digest('base64url');
  return `${token}.${thumbprint}`;
}

/** Only what is required, in the order in which it is hashed (RFC 7638 section 3). */
function jwkOf(key: KeyObject): Jwk {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  return { crv, kty, x, y } as Jwk;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}
