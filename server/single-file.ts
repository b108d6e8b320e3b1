/** The program `culvert-relay` as a single file, which also runs as the small programs that a handoff needs. */
import { takePart } from './own-program.ts';

const part = takePart();
if (part === 'send-listeners') void import('./handoff/send-listeners.ts');
else if (part === 'pass-listeners') void import('./handoff/pass-listeners.ts');
else void import('./cli/program.ts');
