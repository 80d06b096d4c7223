import { createSecretBox } from '../../src/services/secret-box.ts'

/** What encrypts secrets where a test needs no key of its own. */
export const TEST_SECRETS = createSecretBox([Buffer.alloc(32, 'test')])
