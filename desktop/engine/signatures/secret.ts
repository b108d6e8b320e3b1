/** For services whose secrets are texts of any kind. @returns what to say about one that is none */
export function textSecretProblem(secret: string): string | undefined {
  return /^[\x21-\x7e]+$/.test(secret)
    ? undefined
    : 'A secret has no spaces, and only letters, digits and signs.';
}
