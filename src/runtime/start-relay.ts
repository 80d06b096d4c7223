import { createRelay } from '../events/relay.ts'
import { createWakeExchange } from '../events/wake-exchange.ts'
import { isUnsettled, settleOutboxOf } from '../store/postgres/outbox-era.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/** Starts relaying events from the outbox to the bus, and exchanging wake-ups with other servers. */
export async function startRelay({ db, bus, log, access, wake, resources }: RuntimeParts): Promise<void> {
  const settle = async () => {
    if (await isUnsettled(db)) await settleOutboxOf(access.ownerUrl, log)
  }
  const relay = createRelay({ db, bus, log, settle })
  wake.on('events', relay.wake)
  await relay.start()
  resources.defer(() => relay.stop())
  resources.defer(() => bus.close())
  const exchange = createWakeExchange({ db, hub: wake, connectionString: access.directUrl, log })
  resources.defer(() => exchange.stop())
}
