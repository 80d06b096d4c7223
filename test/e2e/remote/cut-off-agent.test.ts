import { test } from 'vitest'
import { expectRetryElsewhere, type PartitionedFleet, usePartitionedFleet } from './partitioned-fleet.ts'

/** Never two live attempts, with real processes: the kernels themselves note when they lived. */

let partitioned: PartitionedFleet
usePartitionedFleet((made) => (partitioned = made))

test('an agent that is cut off for longer than lease and fence stops its kernels before the retry runs elsewhere', () =>
  expectRetryElsewhere(partitioned, 'cut'))
