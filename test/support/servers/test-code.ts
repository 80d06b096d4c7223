import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UPLOAD_BYTES_DEFAULT, UPLOAD_PROJECT_BYTES_DEFAULT } from '../../../src/domain/limits.ts'
import { createCheckpointStore } from '../../../src/services/agent/relay-checkpoint.ts'
import { createCodeStore } from '../../../src/services/code/code-store.ts'

/** The code directory of the servers of one test worker; it is created with the first upload. */
export const TEST_CHECKPOINT_DIR = join(tmpdir(), `reprise-test-code-${process.pid}`)

export const TEST_CODE = createCodeStore({
  directory: TEST_CHECKPOINT_DIR,
  bytesMax: UPLOAD_BYTES_DEFAULT,
  projectBytesMax: UPLOAD_PROJECT_BYTES_DEFAULT,
})

export const TEST_RELAY = createCheckpointStore({
  directory: TEST_CHECKPOINT_DIR,
  bytesMax: 64 * 1024 ** 2,
})
