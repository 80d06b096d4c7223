import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OUTPUT_BYTES_DEFAULT, UPLOAD_BYTES_DEFAULT, UPLOAD_PROJECT_BYTES_DEFAULT } from '../../../src/domain/limits.ts'
import type { OutputLimits } from '../../../src/services/agent/receive-outputs.ts'
import type { CheckpointStore } from '../../../src/services/agent/relay-checkpoint.ts'
import { createDirectoryBlobStore } from '../../../src/services/blob/directory-blob-store.ts'
import type { CodeStore } from '../../../src/services/code/code-store.ts'

/** The directory of the servers of one test worker; it is created with the first upload. */
export const TEST_CHECKPOINT_DIR = join(tmpdir(), `reprise-test-code-${process.pid}`)

export const TEST_BLOBS = createDirectoryBlobStore({ directory: join(TEST_CHECKPOINT_DIR, 'blobs') })

export const TEST_CODE: CodeStore = {
  blobs: TEST_BLOBS,
  oldDirectory: TEST_CHECKPOINT_DIR,
  bytesMax: UPLOAD_BYTES_DEFAULT,
  projectBytesMax: UPLOAD_PROJECT_BYTES_DEFAULT,
}

export const TEST_RELAY: CheckpointStore = {
  blobs: TEST_BLOBS,
  oldDirectory: TEST_CHECKPOINT_DIR,
  bytesMax: 64 * 1024 ** 2,
}

export const TEST_OUTPUTS: OutputLimits = { bytesMax: OUTPUT_BYTES_DEFAULT, keepDays: 30 }

/** The file of a blob of these servers. */
export function testBlobPath(projectId: string, sha256: string): string {
  return join(TEST_CHECKPOINT_DIR, 'blobs', projectId, sha256.slice(0, 2), sha256)
}
