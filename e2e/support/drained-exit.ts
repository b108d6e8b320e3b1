/**
 * Loaded by every mocha process (.mocharc.json). When nothing is left to do, the process ends at once: Node 24 takes its
 * environment down first, and was seen to wait there for ever, with a whole core, for a handle that never closes. A
 * test that leaves something behind still keeps the process alive, because this is told only once nothing is.
 */
process.once('beforeExit', () => process.exit());
