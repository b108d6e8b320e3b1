/** The TXT record that proves whose a domain is (docs/protocol.md section 12.2). */
import { PROOF_LABEL } from '../../shared/domains.ts';

const PREFIX = 'culvert-verify=';

/** Its name. */
export function proofName(domain: string): string {
  return `${PROOF_LABEL}.${domain}`;
}

/** What it has to say. */
export function proofText(proof: string): string {
  return PREFIX + proof;
}
