import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UPLOAD_BYTES_DEFAULT, UPLOAD_PROJECT_BYTES_DEFAULT } from '../../../src/domain/limits.ts'
import { createCheckpointStore } from '../../../src/services/agent/checkpoint-store.ts'
import { createCodeStore } from '../../../src/services/code/code-store.ts'

/** Of the servers of one test worker; makes nothing before something is uploaded. */
export const TEST_CODE = createCodeStore({
  directory: join(tmpdir(), `reprise-test-code-${process.pid}`),
  bytesMax: UPLOAD_BYTES_DEFAULT,
  projectBytesMax: UPLOAD_PROJECT_BYTES_DEFAULT,
})

/** The same of checkpoints. */
export const TEST_RELAY = createCheckpointStore({
  directory: join(tmpdir(), `reprise-test-code-${process.pid}`),
  bytesMax: 64 * 1024 ** 2,
})
