package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"ottla/clients/check"

	"github.com/twmb/franz-go/pkg/kgo"
)

// load produces until the input closes, while a group member commits what it has read.
func load(address, topic string) error {
	s, err := newSuite(address)
	if err != nil {
		return err
	}
	defer s.admin.Close()
	if _, err := s.admin.CreateTopic(s.context, 1, 1, nil, topic); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	ending, stop := context.WithCancel(s.context)
	committed := make(chan error, 1)
	go func() { committed <- commitWhatIsRead(ending, s, topic) }()
	closed := check.InputClosed()
	for number := 0; ; number++ {
		select {
		case <-closed:
			flushed := client.Flush(s.context)
			client.Close()
			stop()
			return check.First(flushed, <-committed)
		case <-time.After(time.Millisecond):
			value := strconv.Itoa(number)
			client.Produce(s.context, &kgo.Record{Topic: topic, Value: []byte(value)}, func(_ *kgo.Record, err error) {
				if err != nil {
					check.Print("# " + err.Error())
				} else {
					check.Print("acked " + value)
				}
			})
		}
	}
}

func commitWhatIsRead(ending context.Context, s *suite, topic string) error {
	client, err := s.member(topic, topic)
	if err != nil {
		return err
	}
	defer client.Close()
	read := 0
	for ending.Err() == nil {
		for _, record := range client.PollFetches(ending).Records() {
			read++
			if read%check.CommitEvery != 0 {
				continue
			}
			if err := client.CommitRecords(ending, record); err != nil {
				check.Print("# " + err.Error())
			} else {
				check.Print(fmt.Sprint("committed ", record.Offset+1))
			}
		}
	}
	return nil
}

func verify(address, topic string) error {
	s, err := newSuite(address)
	if err != nil {
		return err
	}
	defer s.admin.Close()
	committed, err := s.admin.FetchOffsets(s.context, topic)
	ends, endsError := s.admin.ListEndOffsets(s.context, topic)
	if err := check.First(err, endsError); err != nil {
		return err
	}
	at, _ := committed.Lookup(topic, 0)
	end, _ := ends.Lookup(topic, 0)
	check.Print(fmt.Sprint("committed ", at.At))
	records, err := s.read(topic, int(end.Offset), 0)
	for _, record := range records {
		check.Print(fmt.Sprintf("record %d %s", record.Offset, record.Value))
	}
	return err
}
