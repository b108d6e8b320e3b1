#!/usr/bin/env node
/**
 * The program `culvert-relay`. Any version of Node may read this file, so its syntax is one that old versions know;
 * the program itself is loaded once this Node is known to be new enough.
 */
import { nodeProblem } from '../shared/node-version.ts';

const problem = nodeProblem('culvert-relay', process.versions.node);
if (problem === undefined) void import('./cli/program.ts');
else {
  process.stderr.write(problem + '\n');
  process.exitCode = 1;
}
