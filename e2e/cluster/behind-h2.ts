/** Loaded by mocha with `--require`: visitors of every suite reach its relay over HTTP/2. */
import { startBehindHttp2 } from '../support/http2-front.ts';
import { replaceRelay } from '../support/programs.ts';
import { leaveExceptionsOut } from './not-through-balancer.ts';

replaceRelay(startBehindHttp2);

export const mochaHooks = leaveExceptionsOut('h2');
