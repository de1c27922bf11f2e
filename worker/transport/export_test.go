package transport

import (
	"context"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// SendRaw puts any payload into a queue.
func SendRaw(ctx context.Context, c redis.UniversalClient, queue, payload string) error {
	_, err := asynq.NewClientFromRedisClient(c).EnqueueContext(ctx,
		asynq.NewTask(protocol.TaskType, []byte(payload)), asynq.Queue(queue), asynq.MaxRetry(0))
	return err
}

// Lane looks once through a queue of the receiver as its sweep does: before is what the look before returned.
func (r *Receiver) Lane(ctx context.Context, lane string, before map[string]bool) (now map[string]bool, own, foreign int, err error) {
	now, gone, err := r.sweepLane(ctx, queueOf(r.Worker, r.Boot, lane), before)
	return now, gone.own, gone.foreign, err
}
