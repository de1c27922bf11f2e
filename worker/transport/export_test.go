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
