/** What the relay knows of its identity provider from its settings. */
import { readFile } from 'node:fs/promises';
import type { ProviderSettings } from '../access/identity-provider.ts';
import type { Config } from '../config.ts';
import { describeError } from '../log.ts';

/** @throws Error with a text for the operator if the file with the secret cannot be read */
export async function providerSettings({
  issuer,
  clientId,
  clientSecret,
  clientSecretFile,
  scopes,
}: NonNullable<Config['oidc']>): Promise<ProviderSettings> {
  const secret = clientSecretFile === undefined ? clientSecret : await readSecret(clientSecretFile);
  return { issuer, clientId, clientSecret: secret, scopes };
}

async function readSecret({
  path,
  setting,
}: NonNullable<NonNullable<Config['oidc']>['clientSecretFile']>): Promise<string> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new Error(`the file in ${setting} cannot be read: ${describeError(error)}`, { cause: error });
  }
  if (text === '') throw new Error(`the file ${path} in ${setting} is empty`);
  return text;
}
